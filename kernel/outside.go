package kernel

// Outside is how many times a timer was asked about what lies beyond the sizes that it was calibrated with: such times
// are extrapolated. A timer that is not there was never asked.

func (t *GemmTimer) Outside() int {
	if t == nil {
		return 0
	}
	return t.s.outside()
}

func (t *GroupedGemmTimer) Outside() int {
	if t == nil {
		return 0
	}
	return t.s.outside()
}

func (t *DecodeTimer) Outside() int {
	if t == nil {
		return 0
	}
	return t.s.outside()
}

func (t *PrefillTimer) Outside() int {
	if t == nil {
		return 0
	}
	return t.s.outside()
}

func (t *LinearTimer) Outside() int {
	if t == nil {
		return 0
	}
	return t.s.outside()
}

func (t *CurveTimer) Outside() int {
	if t == nil {
		return 0
	}
	return t.memory.outside
}

func (t *CollectiveTimer) Outside() int { return t.bytes.outside }

func (t *ExchangeTimer) Outside() (n int) {
	if t == nil {
		return 0
	}
	for i := range t.levels {
		n += t.levels[i].Outside()
	}
	return n
}

func (s *sides) outside() int { return s.compute.outside + s.memory.outside }
