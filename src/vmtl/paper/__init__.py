"""The paper's system, Eq. 2 to 12: posteriors, priors, likelihoods, the objective that joins them, and its training.

``fit.fit`` trains a method on rows and returns a ``fitted.FittedVMTL``, which predicts. A method is a combination of
choices (``method``, ``methods``); how it is trained is a ``settings.Settings`` object, of which ``presets`` has three.

Eq. 2, joint distribution: ``model``, ``likelihoods``
Eq. 3, factorised posterior: ``distributions``, ``encoders``, ``heads``
Eq. 4 and 5, evidence lower bound: ``objective``
Eq. 6, prior of w: ``priors.gumbel_mixture_w``
Eq. 7, mixing weights: ``mixing``
Eq. 8, posterior of w: ``heads``
Eq. 9, prior of z: ``priors.gumbel_mixture_z``
Eq. 10, attention: ``attention``
Eq. 11, objective: ``objective``, ``logits``, ``likelihoods.sampled_loss``, ``priors.mixture_kl``
Eq. 12, prediction: ``prediction``
"""
