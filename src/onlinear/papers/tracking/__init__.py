"""Herbster & Warmuth (2001): tracking a shifting target with Bregman projections."""
