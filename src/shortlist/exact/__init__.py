"""The exact laws of what is returned: probabilities by quadrature, never by drawing."""
