package question

import "slices"

// Known finds a setting of some commands by its name or another of its names.
func Known(of Command, name string) (*Setting, bool) {
	for _, s := range Settings(of) {
		if s.Name == name || slices.Contains(s.Aliases, name) {
			return s, true
		}
	}
	return nil, false
}

// Unknown says what is wrong with a name that no setting of a command has, with the nearest.
func Unknown(of Command, name string) error {
	var known []string
	for _, s := range Settings(of) {
		known = append(append(known, s.Name), s.Aliases...)
	}
	return unknown(of, name, known)
}
