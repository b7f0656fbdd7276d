package estimate

import "math"

// fourInFive is the standard deviations of a normal distribution within which four of five values
// lie.
const fourInFive = 1.2815515655446004

// Chance is the probability that a time stays within a limit. Its true value is the predicted one
// times a log-normal factor: four of five lie within the band, and noise, a relative standard error
// of its own, comes on top. With neither, the prediction decides.
func Chance(predicted, limit, band, noise float64) float64 {
	if predicted <= 0 {
		return 1
	}
	deviation := math.Hypot(math.Log1p(band)/fourInFive, noise)
	distance := math.Log(limit / predicted)
	if deviation == 0 {
		if distance >= 0 {
			return 1
		}
		return 0
	}
	return 0.5 * math.Erfc(-distance/(deviation*math.Sqrt2))
}

// Margin is the share of a limit that a prediction may take, so that the limit holds with a chance.
func Margin(chance, band, noise float64) float64 {
	deviation := math.Hypot(math.Log1p(band)/fourInFive, noise)
	return math.Exp(-deviation * math.Sqrt2 * math.Erfinv(2*chance-1))
}
