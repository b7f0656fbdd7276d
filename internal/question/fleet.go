package question

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/internal/document"
)

// Share is a part of a fleet: a number of processors of one kind.
type Share struct {
	Role   deploy.Role // Both: which is searched
	Ref    string      // the kind as it was written: a built-in name or a file
	GPUs   int
	System *hardware.System

	PerHour, Watts float64 // of a processor; 0: not known
}

// shareOf reads a part of a fleet: prefill=H20_141G:16, or H200:8 for any role.
func shareOf(word string) (Share, error) {
	s := Share{Ref: word}
	if name, rest, given := strings.Cut(word, "="); given {
		roles := []string{deploy.Prefill.String(), deploy.Decode.String()}
		at := slices.Index(roles, name)
		if at < 0 {
			return s, fmt.Errorf("%q: %s", word, document.NotOneOf(name, roles))
		}
		s.Role, s.Ref = []deploy.Role{deploy.Prefill, deploy.Decode}[at], rest
	}
	at := strings.LastIndex(s.Ref, ":")
	if at <= 0 {
		return s, fmt.Errorf("%q: must be a system and a number of GPUs, such as H200:8, prefill=H200:8 or decode=H200:8", word)
	}
	n, err := strconv.Atoi(s.Ref[at+1:])
	if err != nil || n < 1 || n > mostGPUs {
		return s, fmt.Errorf("%q: the GPUs must be from 1 to %d, not %q", word, mostGPUs, s.Ref[at+1:])
	}
	s.Ref, s.GPUs = s.Ref[:at], n
	return s, nil
}

// shares are the parts of the fleet, as far as they can be read.
func (q *Question) shares() (out []Share) {
	for _, word := range Words(q.Fleet) {
		if s, err := shareOf(word); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// readFleet reads the kinds of a fleet. Kinds that differ in nothing but their names are one.
func (l *Loaded) readFleet() error {
	var errs []error
	for _, s := range l.shares() {
		var err error
		if s.System, err = l.readSystem("pool", s.Ref); err != nil {
			errs = append(errs, err)
			continue
		}
		at := slices.IndexFunc(l.Shares, func(o Share) bool { return alike(o.System, s.System) })
		if at >= 0 {
			s.System = l.Shares[at].System
		}
		if at >= 0 && s.Role == deploy.Both {
			l.Shares[at].GPUs += s.GPUs
		} else {
			l.Shares = append(l.Shares, s)
		}
	}
	for i := range l.Shares {
		switch s := &l.Shares[i]; {
		case s.Role == deploy.Decode:
			l.Decode = s.System
		case l.Prefill == nil || s.Role == deploy.Prefill:
			l.Prefill = s.System
		}
	}
	l.Prefill, l.Decode = cmp.Or(l.Prefill, l.Decode), cmp.Or(l.Decode, l.Prefill)
	return document.Join(errs...)
}

// alike reports whether two systems are the same silicon, whatever they are called.
func alike(a, b *hardware.System) bool {
	x, y := *a, *b
	x.Name, y.Name = "", ""
	return reflect.DeepEqual(&x, &y)
}

// kinds are the systems of a question, each once.
func (l *Loaded) kinds() []*hardware.System {
	list := []*hardware.System{l.Prefill, l.Decode}
	for i := range l.Shares {
		list = append(list, l.Shares[i].System)
	}
	var out []*hardware.System
	for _, s := range list {
		if s != nil && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// On names what a plan runs on: a number of processors of a system, or the parts of a fleet.
func (l *Loaded) On(gpus int) string {
	var parts []string
	for i := range l.Shares {
		s := &l.Shares[i]
		text := fmt.Sprintf("%d × %s", s.GPUs, s.System.Name)
		if s.Role != deploy.Both {
			text += fmt.Sprintf(" (%s)", s.Role)
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		return strings.Join(parts, " and ")
	}
	text := fmt.Sprintf("%d × %s", gpus, l.Prefill.Name)
	if l.Prefill.Name != l.Decode.Name {
		text += " (prefill) and " + l.Decode.Name + " (decode)"
	}
	return text
}

// neededOfFleet finds what does not go with a fleet.
func (q *Question) neededOfFleet() error {
	var errs []error
	for _, other := range []struct {
		setting string
		given   bool
	}{{"system", q.System != ""}, {"decode-system", q.DecodeSystem != ""}, {"gpus", q.GPUs > 0}, {"prefill-gpus", q.PrefillGPUs > 0}} {
		if other.given {
			errs = append(errs, wrong(other.setting, "is said by pool, for each pool; leave it out"))
		}
	}
	if q.Objective == MinGPUs {
		errs = append(errs, wrong("objective", "min-gpus looks for a number of GPUs, and pool gives it; give system and gpus in place of pool"))
	}
	for _, goal := range []struct{ setting, limit string }{{"ttft", q.Goals.TTFT}, {"tpot", q.Goals.TPOT}} {
		if strings.Contains(goal.limit, ":") {
			errs = append(errs, wrong(goal.setting, goal.limit+" is held by simulation, on GPUs of one kind; with pool give a limit on the mean, or system and gpus in place of pool"))
		}
	}
	var roles [3]int
	shares := q.shares()
	for i := range shares {
		roles[shares[i].Role]++
	}
	switch {
	case roles[deploy.Prefill]+roles[deploy.Decode] == 0:
	case roles != [3]int{deploy.Prefill: 1, deploy.Decode: 1}:
		errs = append(errs, wrong("pool", "one pool prefills and one decodes: give one prefill=SYSTEM:GPUS and one decode=SYSTEM:GPUS, or no roles at all"))
	case q.Mode == Aggregated:
		errs = append(errs, wrong("pool", "prefill and decode have pools of their own, and mode agg has one pool; leave the roles out, or ask for mode disagg"))
	}
	return document.Join(errs...)
}

// rateOf reads a price or a power: a number, or that of one kind as KIND=NUMBER.
func rateOf(word string, most float64) (kind string, x float64, err error) {
	kind, text, given := strings.Cut(word, "=")
	if !given {
		kind, text = "", word
	}
	if x, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(x) || x < 0 || x > most {
		return kind, 0, fmt.Errorf("must be a number from 0 to %s, or SYSTEM=NUMBER for each kind of GPU, not %q", numberOf(most), word)
	}
	return kind, x, nil
}

func checkRate(most float64) func(string) error {
	return func(word string) error { _, _, err := rateOf(word, most); return err }
}

// rate is a price or a power of processors.
type rate struct {
	setting, text, what string
	most                float64
	objective           Objective
	plain               *float64
	each                func(*Share) *float64
}

func (l *Loaded) rates() error {
	if l.Prefill == nil || l.Decode == nil {
		return nil // which is reported already
	}
	return document.Join(
		l.rate(&rate{"price", l.Price, "the dollars per GPU and hour", mostDollars, Cost, &l.PerHour, func(s *Share) *float64 { return &s.PerHour }}),
		l.rate(&rate{"power", l.Power, "the watts of a GPU", mostWatts, Energy, &l.Watts, func(s *Share) *float64 { return &s.Watts }}))
}

func (l *Loaded) rate(r *rate) error {
	by, err := l.ratesBy(r.setting, r.text, r.most)
	value := func(s *hardware.System) float64 {
		given := cmp.Or(by[s.Name], by[""])
		if p := s.Hourly(); given == 0 && p != nil && r.objective == Cost && l.listed() {
			return p.Dollars
		}
		return given
	}
	unknown := func(s *hardware.System) bool { return value(s) == 0 && (r.objective != Energy || s.Power == nil) }
	lacking := ""
	for i := range l.Shares {
		s := &l.Shares[i]
		if *r.each(s) = value(s.System); unknown(s.System) {
			lacking = s.System.Name
		}
	}
	if len(l.Shares) == 0 {
		if *r.plain = value(l.Decode); unknown(l.Decode) {
			lacking = l.Decode.Name
		}
		if differ := value(l.Prefill) != value(l.Decode); differ && len(by) > 0 {
			err = document.Join(err, wrong(r.setting, "differs between the systems of the two pools; give each with its GPUs as pool"))
		} else if differ {
			*r.plain = 0 // of one price for all
		}
	}
	if l.Objective == r.objective && lacking != "" && err == nil {
		err = wrong(r.setting, fmt.Sprintf("%sobjective %s needs %s, of %s", missing, r.objective, r.what, lacking))
	}
	return err
}

// listed reports whether all kinds have a price of their own.
func (l *Loaded) listed() bool {
	return !slices.ContainsFunc(l.kinds(), func(s *hardware.System) bool { return s.Hourly() == nil })
}

// Prices is what a processor of a system costs per hour, by the setting or else by its own price,
// which is then returned, too; 0: not known.
func (l *Loaded) Prices(text string) (func(*hardware.System) (float64, *hardware.Price), error) {
	by, err := l.ratesBy("price", text, mostDollars)
	return func(s *hardware.System) (float64, *hardware.Price) {
		if given := cmp.Or(by[s.Name], by[""]); given > 0 {
			return given, nil
		}
		return s.OwnPrice()
	}, err
}

// ratesBy is the numbers of a setting by kind, under no name that of all.
func (l *Loaded) ratesBy(setting, text string, most float64) (map[string]float64, error) {
	by := map[string]float64{}
	var names []string
	for _, s := range l.kinds() {
		names = append(names, s.Name)
	}
	var errs []error
	for _, word := range Words(text) {
		kind, x, err := rateOf(word, most)
		switch _, twice := by[kind]; {
		case err != nil: // which the check of the setting says
		case twice:
			errs = append(errs, wrong(setting, fmt.Sprintf("%q comes twice", word)))
		case kind != "" && !slices.Contains(names, kind):
			errs = append(errs, wrong(setting, document.NotOneOf(kind, names)))
		}
		by[kind] = x
	}
	return by, document.Join(errs...)
}
