package hardware

import (
	"embed"

	"throughline/internal/catalogue"
)

//go:embed catalogue/*.json kernels/*.json
var files embed.FS

// Kernels are the built-in calibrated kernels, by the name of the chip they were measured on.
var Kernels = catalogue.Set{What: "kernel", Files: files, Folder: "kernels"}

// Catalogue is the built-in system files.
var Catalogue = catalogue.Set{What: "system", Files: files, Aliases: map[string]string{
	"H100": "H100_SXM", "H200 SXM": "H200", "A100": "A100_SXM", "B200 SXM": "B200", "B300 SXM": "B300",
	"GB200": "GB200_NVL72", "GB300": "GB300_NVL72", "H20": "H20_96G", "H20 SXM": "H20_96G", "H20-3e": "H20_141G", "RTX 6000 PRO": "RTX_PRO_6000",
	"Ascend A2": "Ascend_910B", "Ascend A3": "Ascend_910C", "910B": "Ascend_910B", "910C": "Ascend_910C", "TPU v6e Trillium": "TPU_v6e", "Trillium": "TPU_v6e",
	"TPU v7x": "TPU_v7", "TPU7x": "TPU_v7", "Ironwood": "TPU_v7", "A100 40G": "A100_40GB", "A100 SXM 40GB": "A100_40GB", "RTX 5090": "RTX_5090",
	"GB10": "DGX_Spark", "Arc Pro B60": "Arc_B60", "Apple M2 Ultra": "M2_Ultra", "Apple M3 Ultra": "M3_Ultra", "Apple M4 Max": "M4_Max", "Apple M4 Pro": "M4_Pro",
}}
