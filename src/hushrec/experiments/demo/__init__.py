"""What ``hushrec demo`` shows, on made-up clicks and ratings alone."""
