package spreadsheet

import (
	"fmt"
	"strings"
)

// Chart is of columns beside each other, or of their shares on top of each other.
type Chart struct {
	Title, Unit   string
	Shares        bool
	Width, Height int // pixels
	Series        []Series
}

// Series is a colour of a chart, by the cells that hold its name, categories and values.
type Series struct {
	Name               string // in the legend
	From               string // the cell with the name, in its place
	Categories, Values string
	Colour             string // six hexadecimal digits
}

func (s *Series) name() string {
	if s.From != "" {
		return "<c:strRef><c:f>" + escaped(s.From) + "</c:f></c:strRef>"
	}
	return "<c:v>" + escaped(s.Name) + "</c:v>"
}

// placed is a chart whose upper left corner lies in the first column of a row.
type placed struct {
	row   int
	chart *Chart
}

func (s *Sheet) Place(row int, c *Chart) { s.charts = append(s.charts, placed{row, c}) }

// emu is how many English Metric Units a pixel of 1/96 inch has.
const emu = 9525

const (
	drawing  = "http://schemas.openxmlformats.org/drawingml/2006/"
	anchored = `<xdr:oneCellAnchor><xdr:from><xdr:col>0</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>%d</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:from>` +
		`<xdr:ext cx="%d" cy="%d"/><xdr:graphicFrame macro=""><xdr:nvGraphicFramePr><xdr:cNvPr id="%d" name="Chart %d" descr="%s"/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr>` +
		`<xdr:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/></xdr:xfrm><a:graphic><a:graphicData uri="` + drawing + `chart">` +
		`<c:chart xmlns:c="` + drawing + `chart" r:id="rId%d"/></a:graphicData></a:graphic></xdr:graphicFrame><xdr:clientData/></xdr:oneCellAnchor>`
)

// draw adds the charts of a sheet of a number.
func (b *Book) draw(s *Sheet, number int, charts *int, types *strings.Builder) {
	if len(s.charts) == 0 {
		return
	}
	var text strings.Builder
	var relations []relation
	for i, p := range s.charts {
		*charts++
		fmt.Fprintf(&text, anchored, p.row-1, p.chart.Width*emu, p.chart.Height*emu, 2+i, 1+i, escaped(p.chart.Title), 1+i)
		name := fmt.Sprintf("charts/chart%d.xml", *charts)
		relations = append(relations, relation{"chart", "../" + name})
		b.add("xl/"+name, p.chart.text())
		fmt.Fprintf(types, `<Override PartName="/xl/%s" ContentType="%sofficedocument.drawingml.chart+xml"/>`, name, spoken)
	}
	name := fmt.Sprintf("drawing%d.xml", number)
	b.relate(fmt.Sprintf("xl/worksheets/_rels/sheet%d.xml.rels", number), []relation{{"drawing", "../drawings/" + name}})
	b.relate("xl/drawings/_rels/"+name+".rels", relations)
	b.add("xl/drawings/"+name, fmt.Sprintf(`<xdr:wsDr xmlns:xdr="%sspreadsheetDrawing" xmlns:a="%smain" xmlns:r="%s">%s</xdr:wsDr>`, drawing, drawing, office, text.String()))
	fmt.Fprintf(types, `<Override PartName="/xl/drawings/%s" ContentType="%sofficedocument.drawing+xml"/>`, name, spoken)
}

func label(text string) string {
	return `<c:title><c:tx><c:rich><a:bodyPr/><a:p><a:r><a:rPr lang="en-US"/><a:t>` + escaped(text) + `</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title>`
}

// dark is how axes are written: nine points, nearly black.
const dark = `<c:txPr><a:bodyPr/><a:p><a:pPr><a:defRPr sz="900"><a:solidFill><a:srgbClr val="333333"/></a:solidFill></a:defRPr></a:pPr><a:endParaRPr lang="en-US"/></a:p></c:txPr>`

// painted is the colour of a fill or of what holds it: a workbook without a theme has none to
// choose by itself, and LibreOffice draws nothing then.
func painted(holder, colour string) string {
	return "<c:spPr>" + fmt.Sprintf(holder, `<a:solidFill><a:srgbClr val="`+colour+`"/></a:solidFill>`) + "</c:spPr>"
}

func (c *Chart) text() string {
	grouping, overlap := "clustered", ""
	if c.Shares {
		grouping, overlap = "percentStacked", `<c:overlap val="100"/>`
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<c:chartSpace xmlns:c="%schart" xmlns:a="%smain" xmlns:r="%s"><c:chart>%s<c:autoTitleDeleted val="0"/><c:plotArea><c:layout/>`+
		`<c:barChart><c:barDir val="col"/><c:grouping val="%s"/><c:varyColors val="0"/>`, drawing, drawing, office, label(c.Title), grouping)
	for i, s := range c.Series {
		fmt.Fprintf(&b, `<c:ser><c:idx val="%d"/><c:order val="%d"/><c:tx>%s</c:tx>%s<c:invertIfNegative val="0"/>`+
			`<c:cat><c:strRef><c:f>%s</c:f></c:strRef></c:cat><c:val><c:numRef><c:f>%s</c:f></c:numRef></c:val></c:ser>`,
			i, i, s.name(), painted("%s", s.Colour), escaped(s.Categories), escaped(s.Values))
	}
	const x, y = 1, 2 // the axes
	fmt.Fprintf(&b, `<c:gapWidth val="150"/>%s<c:axId val="%d"/><c:axId val="%d"/></c:barChart>`, overlap, x, y)
	fmt.Fprintf(&b, `<c:catAx><c:axId val="%d"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="b"/>`+
		`<c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="nextTo"/>%s<c:crossAx val="%d"/></c:catAx>`, x, dark, y)
	fmt.Fprintf(&b, `<c:valAx><c:axId val="%d"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="l"/><c:majorGridlines>%s</c:majorGridlines>%s`+
		`<c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="nextTo"/>%s<c:crossAx val="%d"/></c:valAx>`,
		y, painted("<a:ln>%s</a:ln>", "D9D9D9"), label(c.Unit), dark, x)
	b.WriteString(`</c:plotArea><c:legend><c:legendPos val="b"/><c:overlay val="0"/></c:legend><c:plotVisOnly val="1"/></c:chart></c:chartSpace>`)
	return b.String()
}
