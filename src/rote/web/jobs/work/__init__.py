"""Every file is one kind of long work: `run(settings, opened, reporter)` does it in a process of
its own and gives the address of the page that shows what came out."""
