"""What certified laws are written with: laws, noise and races in ball arithmetic, apart from `exact` and `sampling`."""
