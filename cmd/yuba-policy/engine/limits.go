// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// withheld are the built-in functions that rules do not have, and why.
var withheld = map[string]string{
	"http.send":          "rules have no network; put what they need into the bundle's data.json",
	"net.lookup_ip_addr": "rules have no network",
	"opa.runtime":        "rules have no environment",
	"rand.intn":          "the same plan must have the same findings",
	"uuid.rfc4122":       "the same plan must have the same findings",
}

// capabilities are what rules may use. No reference to a schema is fetched.
var capabilities = sync.OnceValue(func() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool { return withheld[b.Name] != "" })
	c.AllowNet = []string{}
	return c
})

// maxErrors limits the errors of a bundle that are reported.
const maxErrors = 3

// explained writes errors of OPA as FILE:LINE:COLUMN: MESSAGE.
func explained(err error) error {
	var list ast.Errors
	if !errors.As(err, &list) {
		return err
	}
	var all []string
	for _, e := range list {
		text := strings.Join(strings.Fields(e.Message), " ")
		for name, why := range withheld {
			if strings.Contains(text, "undefined function "+name) {
				text = name + " is not available: " + why
			}
		}
		if e.Location != nil && e.Location.File != "" {
			text = fmt.Sprintf("%s:%d:%d: %s", e.Location.File, e.Location.Row, e.Location.Col, text)
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if more := len(all) - maxErrors; more > 0 {
		all = append(all[:maxErrors], fmt.Sprintf("%d more errors", more))
	}
	return errors.New(strings.Join(all, "; "))
}

// failed explains an error of an evaluation.
func failed(err error) error {
	var halted *topdown.Error
	if errors.As(err, &halted) && halted.Location != nil && halted.Location.File != "" {
		return fmt.Errorf("%s:%d:%d: %s", halted.Location.File, halted.Location.Row, halted.Location.Col, strings.Join(strings.Fields(halted.Message), " "))
	}
	return explained(err)
}

// reads finds out which members of the input the rules can read, and whether they read the clock.
func (b *bundle) reads(compiler *ast.Compiler) {
	members := map[string]bool{}
	var visitor *ast.GenericVisitor
	visitor = ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case ast.Var:
			b.Everything = b.Everything || x.Equal(ast.InputRootDocument.Value)
		case ast.Ref:
			b.Clock = b.Clock || x.String() == "time.now_ns"
			if len(x) == 0 || !x[0].Equal(ast.InputRootDocument) {
				return false
			}
			member := ast.String("")
			if len(x) > 1 {
				member, _ = x[1].Value.(ast.String)
			}
			b.Everything = b.Everything || member == ""
			members[string(member)] = true
			for _, term := range x[1:] {
				visitor.Walk(term)
			}
			return true
		}
		return false
	})
	for _, module := range compiler.Modules {
		visitor.Walk(module)
	}
	if b.Everything {
		return
	}
	for member := range members {
		b.Reads = append(b.Reads, member)
	}
	slices.Sort(b.Reads)
}
