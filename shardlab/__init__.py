"""Instruments and taught code of the textbook *Shard by Shard*."""
