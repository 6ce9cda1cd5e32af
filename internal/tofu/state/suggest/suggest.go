// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package suggest

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// Part is a group of instances.
type Part struct {
	Name string `json:"name"`
	// Addresses are what moves: a module, resources with all instances, or single instances.
	Addresses []string `json:"addresses"`
	Instances int      `json:"instances"`

	members []statefile.Resource
}

// Edge is a dependency between parts. An empty name is what stays.
type Edge struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Needs are the resources of To that From reads.
	Needs []string `json:"needs"`
}

// Suggestion is how a state could be split.
type Suggestion struct {
	Stack string `json:"stack"`
	Parts []Part `json:"parts"`
	Edges []Edge `json:"edges,omitempty"`
	// Stay counts the instances in no part.
	Stay int `json:"stay"`
	// Cycle are parts that need each other; empty if there is none. The rest is named "".
	Cycle []string `json:"cycle,omitempty"`
}

// Of splits a state by a function that names the part of an instance; empty for what stays.
func Of(stack string, file *statefile.File, part func(r statefile.Resource) string) *Suggestion {
	s := &Suggestion{Stack: stack}
	groups, homes := map[string]*Part{}, map[string]map[string]bool{}
	for _, r := range file.Resources {
		name := part(r)
		bare := withoutKeys(r.Address)
		if homes[bare] == nil {
			homes[bare] = map[string]bool{}
		}
		homes[bare][name] = true
		if name == "" {
			s.Stay++
			continue
		}
		if groups[name] == nil {
			groups[name] = &Part{Name: name}
		}
		g := groups[name]
		g.Instances, g.members = g.Instances+1, append(g.members, r)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		for _, r := range g.members {
			g.Addresses = append(g.Addresses, moved(r, homes[withoutKeys(r.Address)]))
		}
		slices.Sort(g.Addresses)
		g.Addresses = slices.Compact(g.Addresses)
		s.Parts = append(s.Parts, *g)
	}
	s.edges(file, part, homes)
	s.Cycle = s.cycle()
	return s
}

// keys matches the keys of instances in an address.
var keys = regexp.MustCompile(`\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\]`)

func withoutKeys(address string) string { return keys.ReplaceAllString(address, "") }

// trailing matches the key of an instance at the end of an address.
var trailing = regexp.MustCompile(`(\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\])$`)

// moved is the address to move: the resource with all instances if they are all in one part.
func moved(r statefile.Resource, homes map[string]bool) string {
	if len(homes) > 1 {
		return r.Address
	}
	return trailing.ReplaceAllString(r.Address, "")
}

// edges finds the dependencies that leave a part.
func (s *Suggestion) edges(file *statefile.File, part func(statefile.Resource) string, homes map[string]map[string]bool) {
	type pair struct{ from, to string }
	found := map[pair]map[string]bool{}
	for _, r := range file.Resources {
		from := part(r)
		for _, need := range r.Dependencies {
			for to := range homes[need] {
				if to == from || homes[need][from] {
					continue
				}
				if found[pair{from, to}] == nil {
					found[pair{from, to}] = map[string]bool{}
				}
				found[pair{from, to}][need] = true
			}
		}
	}
	for p, needs := range found {
		s.Edges = append(s.Edges, Edge{From: p.from, To: p.to, Needs: slices.Sorted(maps.Keys(needs))})
	}
	slices.SortFunc(s.Edges, func(a, b Edge) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
}

// cycle finds parts that need each other.
func (s *Suggestion) cycle() []string {
	next := map[string][]string{}
	for _, e := range s.Edges {
		next[e.From] = append(next[e.From], e.To)
	}
	done := map[string]bool{}
	var path []string
	var visit func(name string) []string
	visit = func(name string) []string {
		if at := slices.Index(path, name); at >= 0 {
			return slices.Clone(path[at:])
		}
		if done[name] {
			return nil
		}
		path = append(path, name)
		for _, to := range next[name] {
			if found := visit(to); found != nil {
				return found
			}
		}
		path, done[name] = path[:len(path)-1], true
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if found := visit(name); found != nil {
			return found
		}
	}
	return nil
}

// ByModule names the part of each module that the root module calls.
func ByModule(r statefile.Resource) string {
	rest, ok := strings.CutPrefix(r.Module, "module.")
	if !ok {
		return ""
	}
	name := withoutKeys(rest)
	if at := strings.IndexByte(name, '.'); at >= 0 {
		name = name[:at]
	}
	return name
}

// ownerKeys are names of tags and labels that say who owns an object.
var ownerKeys = []string{"owner", "team"}

// ByOwner names the part of each owner, by the tags or labels of the objects.
func ByOwner(r statefile.Resource) string {
	var attributes map[string]json.RawMessage
	if json.Unmarshal(r.Attributes, &attributes) != nil {
		return ""
	}
	for _, field := range []string{"tags", "labels", "tags_all", "effective_labels"} {
		var tags map[string]any
		if json.Unmarshal(attributes[field], &tags) != nil {
			continue
		}
		for _, key := range ownerKeys {
			for name, value := range tags {
				if text, ok := value.(string); ok && strings.EqualFold(name, key) {
					return partName(text)
				}
			}
		}
	}
	return ""
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// partName makes the name of a stack of the name of an owner.
func partName(owner string) string {
	const maxName = 50
	name := notInName.ReplaceAllString(strings.ToLower(owner), "-")
	return strings.Trim(name[:min(len(name), maxName)], "-")
}

// often is the part of what changes often.
const often = "often-changed"

// ByRate returns a function that names the part of what changed in at least a fifth of the versions, and
// in two at least. Files are the versions, in either order.
func ByRate(files []*statefile.File) func(statefile.Resource) string {
	changes := map[string]int{}
	last := map[string]string{}
	for i, f := range files {
		now := map[string]string{}
		for _, r := range f.Resources {
			now[r.Address] = statefile.Digest(r.Attributes)
			if before, known := last[r.Address]; i > 0 && known && before != now[r.Address] {
				changes[r.Address]++
			}
		}
		last = now
	}
	const share = 5
	least := max(2, (len(files)+share-1)/share)
	return func(r statefile.Resource) string {
		if changes[r.Address] >= least {
			return often
		}
		return ""
	}
}
