"""Reads .xplane.pb files for tests: planes with lines of events, whose names and values are looked up."""

import dataclasses

from event_reader import fields


@dataclasses.dataclass
class Event:
    name: str
    begin: int  # picoseconds
    end: int
    values: dict

    def holds(self, other):
        return self.begin <= other.begin and other.end <= self.end


@dataclasses.dataclass
class Plane:
    name: str
    lines: dict  # name: events in the order of the file
    values: dict

    def events(self, name=None):
        return [e for line in self.lines.values() for e in line if name is None or e.name == name]


def _names(entries):
    """Of a map field whose values repeat the number and have a name."""
    names = {}
    for entry in entries:
        value = fields(fields(entry)[2][0])
        names[value[1][0]] = value[2][0].decode()
    return names


def _values(stats, names):
    values = {}
    for stat in map(fields, stats):
        name = names[stat[1][0]]
        if 7 in stat:
            values[name] = names[stat[7][0]]
        else:
            values[name] = next(stat[field][0] for field in (2, 3, 4) if field in stat)
    return values


def _plane(data):
    plane = fields(data)
    event_names, stat_names = _names(plane.get(4, [])), _names(plane.get(5, []))
    lines = {}
    for line in map(fields, plane.get(3, [])):
        events = []
        for event in map(fields, line.get(4, [])):
            begin, length = event[2][0], event[3][0]
            values = _values(event.get(4, []), stat_names)
            events.append(Event(event_names[event[1][0]], begin, begin + length, values))
        lines[line[2][0].decode()] = events
    return Plane(plane[2][0].decode(), lines, _values(plane.get(6, []), stat_names))


def read(path):
    """{name: Plane} of a file."""
    planes = [_plane(data) for data in fields(path.read_bytes())[1]]
    return {plane.name: plane for plane in planes}
