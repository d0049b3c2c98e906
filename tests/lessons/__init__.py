"""Failures of other systems, one file a row: the regression tests that we own. (lessons)"""
