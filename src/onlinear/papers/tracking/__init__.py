"""Herbster & Warmuth (2001): tracking weights that shift, with Bregman projections."""
