"""Cesa-Bianchi, Conconi & Gentile (2003): filters that see only the labels of forwarded rows."""
