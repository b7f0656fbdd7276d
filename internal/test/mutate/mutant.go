//go:build unix

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one change of one file.
type mutant struct {
	pkg, file  string // folder, and the file in the module
	line       int
	from, to   int    // bytes that are replaced
	text       string // what replaces them
	change     string // for people
	code       string // the line, by which equivalent.csv knows it
	equivalent bool
}

func (m *mutant) compare(o *mutant) int {
	return cmp.Or(cmp.Compare(m.file, o.file), cmp.Compare(m.from, o.from), cmp.Compare(m.change, o.change))
}

// operators are replaced by their neighbours.
var operators = map[token.Token][]token.Token{
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// functions are replaced by their opposites.
var functions = map[string]string{"min": "max", "max": "min", "Ceil": "Floor", "Floor": "Ceil"}

// source is a file whose mutants are listed.
type source struct {
	pkg, name string
	text      []byte
	positions *token.FileSet
	out       []*mutant
}

// mutants lists all changes of a package.
func (t *tree) mutants(folder string) ([]*mutant, error) {
	p, ok := t.packages[folder]
	if !ok {
		return nil, fmt.Errorf("there is no package %s", folder)
	}
	var out []*mutant
	for _, name := range p.GoFiles {
		s := source{pkg: folder, name: filepath.ToSlash(filepath.Join(folder, name)), positions: token.NewFileSet()}
		var err error
		if s.text, err = os.ReadFile(filepath.Join(p.Dir, name)); err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(s.positions, name, s.text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			ast.Inspect(d, s.visit)
		}
		out = append(out, s.out...)
	}
	return out, nil
}

func (s *source) offset(p token.Pos) int { return s.positions.Position(p).Offset }

func (s *source) of(n ast.Node) string { return string(s.text[s.offset(n.Pos()):s.offset(n.End())]) }

// add replaces from and the bytes after it; whole is the node that people are shown.
func (s *source) add(whole ast.Node, from token.Pos, length int, text string) {
	at := s.offset(from)
	start, end := s.offset(whole.Pos()), s.offset(whole.End())
	changed := string(s.text[start:at]) + text + string(s.text[at+length:end])
	line := s.positions.Position(from).Line
	code, _, _ := strings.Cut(string(s.text[strings.LastIndexByte(string(s.text[:at]), '\n')+1:]), "\n")
	s.out = append(s.out, &mutant{
		pkg: s.pkg, file: s.name, line: line, from: at, to: at + length, text: text,
		change: short(s.of(whole)) + " => " + short(changed), code: strings.TrimSpace(code),
	})
}

// short is a text in one line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return text
}

func (s *source) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.BinaryExpr:
		s.swap(n, n.OpPos, n.Op)
	case *ast.IncDecStmt:
		s.swap(n, n.TokPos, n.Tok)
	case *ast.AssignStmt:
		s.swap(n, n.TokPos, n.Tok)
		if n.Tok == token.ASSIGN { // nothing is assigned
			s.add(n, n.Pos(), s.offset(n.End())-s.offset(n.Pos()), strings.Repeat("_, ", len(n.Lhs)-1)+"_ = "+list(s, n.Rhs))
		}
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok { // nothing is called
			s.add(n, n.Pos(), s.offset(n.End())-s.offset(n.Pos()), "_ = "+s.of(call.Fun))
		}
	case *ast.IfStmt:
		if b, ok := n.Cond.(*ast.BinaryExpr); ok && operators[b.Op] != nil {
			return true // changed where its operator is
		}
		s.add(n.Cond, n.Cond.Pos(), s.offset(n.Cond.End())-s.offset(n.Cond.Pos()), "!("+s.of(n.Cond)+")")
	case *ast.UnaryExpr:
		if n.Op == token.SUB {
			s.add(n, n.OpPos, 1, "+")
		}
	case *ast.CallExpr:
		s.call(n)
	case *ast.BasicLit:
		s.literal(n)
	}
	return true
}

func list(s *source, of []ast.Expr) string {
	var out []string
	for _, e := range of {
		out = append(out, s.of(e))
	}
	return strings.Join(out, ", ")
}

func (s *source) swap(whole ast.Node, at token.Pos, op token.Token) {
	for _, other := range operators[op] {
		s.add(whole, at, len(op.String()), other.String())
	}
}

func (s *source) call(n *ast.CallExpr) {
	name, _ := n.Fun.(*ast.Ident)
	if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
		name = sel.Sel
	}
	if name != nil && functions[name.Name] != "" {
		s.add(n, name.Pos(), len(name.Name), functions[name.Name])
	}
}

// literal changes a number by one, or a fraction by a tenth.
func (s *source) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		s.add(n, n.Pos(), len(n.Value), "("+n.Value+" + 1)")
	case token.FLOAT:
		s.add(n, n.Pos(), len(n.Value), "("+n.Value+" * 1.1)")
	}
}
