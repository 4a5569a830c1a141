# Rscript lme4.R FOLDER gaussian|binomial SLOPES: fits train.csv, predicts test.csv, writes found.csv.
suppressMessages(library(lme4))
given <- commandArgs(trailingOnly = TRUE)
folder <- given[1]; gaussian <- given[2] == "gaussian"; slopes <- as.integer(given[3])
train <- read.csv(file.path(folder, "train.csv")); test <- read.csv(file.path(folder, "test.csv"))
train$task <- factor(train$task); test$task <- factor(test$task, levels = levels(train$task))
columns <- setdiff(names(train), c("task", "y"))

fit <- function(random) {
  model <- as.formula(paste("y ~", paste(c("1", columns, random), collapse = " + ")))
  tryCatch(suppressMessages(suppressWarnings(
    if (gaussian) lmer(model, train, REML = FALSE)
    else glmer(model, train, family = binomial, control = glmerControl(optimizer = "bobyqa"))
  )), error = function(problem) NULL)
}

alone <- fit("(1 | task)")
both <- fit(paste0("(1 + ", paste(columns[seq_len(slopes)], collapse = " + "), " || task)"))
better <- !is.null(both) && (is.null(alone) || AIC(both) < AIC(alone))
model <- if (better) both else alone
if (is.null(model)) stop("no model could be fitted")
mean <- predict(model, test, type = "response", allow.new.levels = TRUE)
std <- rep(if (gaussian) sigma(model) else NA, nrow(test))
write.csv(data.frame(mean = mean, std = std, slopes = better), file.path(folder, "found.csv"), row.names = FALSE)
