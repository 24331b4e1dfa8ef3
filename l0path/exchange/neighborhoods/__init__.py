"""Steps from a support to those beside it. A new neighborhood is one file with the methods of
`protocol.Neighborhood`.
"""
