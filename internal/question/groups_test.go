package question

import "testing"

// Every setting has one place in a form, and every place a setting.
func TestGroups(t *testing.T) {
	places := map[string]string{}
	for _, g := range Groups {
		for _, name := range g.Settings {
			if other, twice := places[name]; twice {
				t.Errorf("%s is in the groups %s and %s", name, other, g.Name)
			}
			places[name] = g.Name
		}
	}
	ranks := map[int]string{}
	for i := range settings {
		s := &settings[i]
		if s.Group == "" || s.Group != places[s.Name] {
			t.Errorf("%s is in the group %q, want %q", s.Name, s.Group, places[s.Name])
		}
		if other, twice := ranks[s.Rank]; twice && other != s.Name {
			t.Errorf("%s and %s have one rank", s.Name, other)
		}
		ranks[s.Rank] = s.Name
	}
	for name, group := range places {
		if _, ok := Lookup(All|Runs, name); !ok {
			t.Errorf("group %s: there is no setting %s", group, name)
		}
	}
}

// Only texts name files.
func TestOnlyTextsOpenFiles(t *testing.T) {
	for i := range settings {
		if s := &settings[i]; s.Opens && s.Kind() != Text {
			t.Errorf("%s is a %s and opens files", s.Name, s.Kind())
		}
	}
}
