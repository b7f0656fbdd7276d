package hardware

// Tariff is what energy costs; what nobody has said is 0.
type Tariff struct {
	PerKWh float64 // dollars
	PUE    float64 // energy of the building per energy of its processors
	Carbon float64 // grams of CO₂ per kWh
}

const joulesPerKWh = 3.6e6

// kWh is that of the building, as far as its PUE is given, for joules of its processors.
func (t *Tariff) kWh(joules float64) float64 { return max(1, t.PUE) * joules / joulesPerKWh }

// Dollars of the energy of processors, and Grams of its CO₂.
func (t *Tariff) Dollars(joules float64) float64 { return t.kWh(joules) * t.PerKWh }
func (t *Tariff) Grams(joules float64) float64   { return t.kWh(joules) * t.Carbon }
