"""What is decided before a fit: the model that suits what is declared, and a charged look at the crowd."""
