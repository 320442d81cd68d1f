"""What a check of an exercise calls: it asks for an answer and compares it."""
