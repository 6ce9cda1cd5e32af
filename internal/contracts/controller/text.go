// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
)

// MissingError says why there is nothing to read yet.
type MissingError struct{ message string }

func (e *MissingError) Error() string { return e.message }

// WrongError says why a request can never be answered.
type WrongError struct{ message string }

func (e *WrongError) Error() string { return e.message }

// Text reads the highest published revision in a range, or the part at a path: a string as it is, and
// everything else as JSON. The path must lead to one value, so it has no [*].
func (b *Book) Text(ctx context.Context, w Want, path string) (string, *Reading, error) {
	r, err := b.Read(ctx, w)
	switch {
	case err != nil:
		return "", nil, err
	case r.Problem != "":
		return "", nil, &WrongError{r.Problem}
	case r.Missing != "":
		return "", nil, &MissingError{r.Missing}
	}
	v := r.Value
	if path != "" {
		p, err := paths.Parse(path)
		if err != nil {
			return "", nil, &WrongError{err.Error()}
		}
		if v, err = at(v, p, w.Contract); err != nil {
			return "", nil, err
		}
	}
	if v.Type() == cty.String && !v.IsNull() {
		return v.AsString(), r, nil
	}
	text, err := document.Canonical(v)
	return string(text), r, err
}

// at returns the value at a path.
func at(v cty.Value, p paths.Path, contract string) (cty.Value, error) {
	for i, step := range p {
		here := p[:i+1].In(contract)
		name, isName := step.Name()
		index, isIndex := step.Index()
		ty := v.Type()
		switch {
		case v.IsNull():
			return v, &MissingError{fmt.Sprintf("%s is null", p[:i].In(contract))}
		case isName && ty.IsObjectType() && ty.HasAttribute(name):
			v = v.GetAttr(name)
		case isName && ty.IsMapType() && v.HasIndex(cty.StringVal(name)).True():
			v = v.Index(cty.StringVal(name))
		case isIndex && (ty.IsListType() || ty.IsTupleType()) && index < v.LengthInt():
			v = v.Index(cty.NumberIntVal(int64(index)))
		case step.IsEach():
			return v, &WrongError{fmt.Sprintf("%s leads to several values", here)}
		default:
			return v, &MissingError{fmt.Sprintf("%s does not exist", here)}
		}
	}
	return v, nil
}
