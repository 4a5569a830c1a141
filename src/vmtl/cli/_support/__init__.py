"""What the subcommands share: options, console, files, messages."""
