"""Running: cases in turns, samples again that were disturbed, and what was done already left alone."""
