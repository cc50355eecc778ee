"""Who may do what through a server: tokens, the file that keeps them, and the one authoriser of all servers."""
