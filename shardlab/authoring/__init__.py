"""What an author of exercises runs: wrong answers, right ones, mutants."""
