"""What the networks learn from: labelled photos and plates drawn here."""
