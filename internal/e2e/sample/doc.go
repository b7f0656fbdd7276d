// Package sample compares the program with the published sample of the reference tool, cell by
// cell.
package sample
