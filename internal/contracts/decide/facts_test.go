// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// must ends a test whose facts are written wrong.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func ty(text string) shape.Type            { return must(shape.Parse(text)) }
func version(text string) versions.Version { return must(versions.Parse(text)) }
func within(text string) versions.Range    { return must(versions.ParseRange(text)) }

func edition(v, text string) Edition { return Edition{version(v), ty(text)} }

// publication is a planned output, in the JSON of a plan.
func publication(v, text, change string) Publication {
	e := edition(v, text)
	return Publication{Edition: e, Result: conform.Check(e.Type, paths.Set{}, must(document.Planned([]byte(change))))}
}

const baseType = "object({vpc_id = string, subnets = list(object({id = string})), note = optional(string)})"

// consumer reads what its variable takes of the contract base.
func consumer(name, pins, variable string) Consumer {
	v := ty(variable)
	return Consumer{Name: name, As: "base", Range: within(pins), Reads: shape.Reads(ty(baseType), v), Variable: shape.Variable{Type: v, Nullable: true}}
}

func outputOf(v cty.Value) document.Output { return document.Output{Value: v} }

func pathsOf(texts ...string) paths.Set {
	var list []paths.Path
	for _, text := range texts {
		list = append(list, must(paths.Parse(text)))
	}
	return paths.Of(list...)
}
