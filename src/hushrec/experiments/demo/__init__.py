"""What ``hushrec demo`` shows, on made-up ratings alone."""
