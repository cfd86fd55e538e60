"""A provider on the loopback interface: real HTTP, real status machines, real faults.

The official SDKs talk to it over a socket, so nothing between the code under test and the wire is
replaced. ``service`` is the way in.
"""
