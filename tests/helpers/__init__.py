"""What several tests share: interrupts, processes, terminals, browsers, exact laws by force, statistical tests."""
