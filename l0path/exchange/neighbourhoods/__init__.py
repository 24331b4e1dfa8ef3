"""Steps from a support to those beside it. A new neighbourhood is one file with the methods of
`protocol.Neighbourhood`.
"""
