package hardware

// SizeTable is an efficiency in steps of size: the first row whose threshold the size reaches. Rows
// go from large to small; a size below them all takes the last row.
type SizeTable []SizeRow

// SizeRow applies from AtLeast upwards.
type SizeRow struct{ AtLeast, Efficiency float64 }

// At is the efficiency for a size.
func (t SizeTable) At(size float64) float64 {
	last := len(t) - 1
	for i := range t[:last] {
		if size >= t[i].AtLeast {
			return t[i].Efficiency
		}
	}
	return t[last].Efficiency
}

// ShapeTable is an efficiency by matrix shape: the first row whose bounds are all reached.
type ShapeTable []ShapeRow

// ShapeRow applies to products of at least M tokens, N outputs and K inputs; 0 always holds.
type ShapeRow struct{ M, N, K, Efficiency float64 }

// At is the efficiency for a product of m tokens, n outputs and k inputs.
func (t ShapeTable) At(m, n, k float64) float64 {
	last := len(t) - 1
	for i := range t[:last] {
		if r := &t[i]; m >= r.M && n >= r.N && k >= r.K {
			return r.Efficiency
		}
	}
	return t[last].Efficiency
}
