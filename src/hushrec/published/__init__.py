"""What the papers print, exact to the paper: to reproduce their tables, not to protect people."""
