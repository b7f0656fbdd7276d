package result

// Energy is what a deployment draws while its clients are served.
type Energy struct {
	Watts  float64 // of a processor, on average
	Idle   float64 // share of the time in which a processor waits for its host or for work
	Output float64 // joules of all processors per output token, prompts and waiting included
	Input  float64 // joules of all processors per prompt token, in its step alone
	Limit  float64 // watts; that of the decode pool, where none is asked for
	Origin string  // of the power of the systems: the least certain
}

// energy is a field of answers whose watts are known.
func energy(name string, u Unit, doc string, value func(*Energy) any) Field {
	return Field{name, u, Answers, doc, func(r *Record) any {
		if r.Energy == nil {
			return nil
		}
		return value(r.Energy)
	}}
}
