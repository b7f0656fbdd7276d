package kernel

// Copies are calibrated, though no operator uses them yet. Those to and from the host have a model
// per kind of host memory: "d2h pinned".
var copies = sectionOf("copy", func(s *Set) *map[string]*Curve { return &s.Copy })

func copySlot(row string, peak Peak) slot {
	return slot{
		section: &copies, name: row, row: row, peak: peak, axes: "bytes",
		pick:    func(*Set, *Types) []string { return nil },
		prepare: func(s *Set, key string, _ *Types) (Timing, error) { return s.Copy[key].prepare() },
	}
}
