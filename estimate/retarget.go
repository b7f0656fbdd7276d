package estimate

import (
	"throughline/collective"
	"throughline/hardware"
)

// On moves the evaluator to another system, or to changed numbers, as if it were new, to the last
// bit. It takes a fraction of a microsecond unless kernels change, so that scanning a system's
// numbers is as fast as scanning plans. The target of a cache handover stays; evaluators made by At
// move along.
//
// It fails when the system has no rate for a number type; the evaluator then stays where it was.
func (e *Evaluator) On(s *hardware.System) error {
	if err := e.pricer.On(s); err != nil {
		return err
	}
	e.system, e.problem.System, e.priced, e.repriced = s, s, e.priced[:0], 0
	e.rules.On(s)
	if len(e.handover) > 0 {
		e.handover[0] = collective.NewNet(s, e.problem.Assume.BytesPerGB)
	}
	return nil
}
