// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Fate is an object that a plan creates or destroys.
type Fate struct {
	Address string `json:"address"`
	// Match replaces a masked address, see [Match].
	Match string `json:"match,omitempty"`
	// Action is Create, Replace or Delete.
	Action Action `json:"action"`
	// Identity is a name of the object from the plan, such as `name "web"`: the current name if the
	// object is replaced or destroyed. It contains no sensitive value.
	Identity string `json:"identity,omitempty"`
}

// makesOrDestroys reports whether an action creates or destroys an object.
func makesOrDestroys(a Action) bool { return a == Create || a == Replace || a == Delete }

// OneStep reports whether an apply needs a single step for this action. A replacement creates and
// destroys.
func (a Action) OneStep() bool { return a == Create || a == Delete }

// Match returns a digest that identifies an address that must not be shown.
func Match(address string) string {
	sum := sha256.Sum256([]byte("address " + address))
	return hex.EncodeToString(sum[:16])
}

// Fates returns the kept objects that the plan creates or destroys, and their total number.
func (s *Stream) Fates() ([]Fate, int) {
	var list []Fate
	for _, c := range s.Changes {
		if makesOrDestroys(c.Action) {
			list = append(list, Fate{Address: c.Address, Match: c.Match, Action: c.Action})
		}
	}
	return list, len(list) + s.ChangesTotal - len(s.Changes)
}

// fates returns the fates in a plan that the tool described.
func (s *shown) fates() (list []Fate, total int) {
	r := s.redactor()
	for i := range s.ResourceChanges {
		c := &s.ResourceChanges[i]
		action, _ := c.Change.action()
		// A deposed object stays in the state until it is destroyed.
		if c.Mode != "managed" || c.Deposed != "" || !makesOrDestroys(action) {
			continue
		}
		if total++; total > maxChanges {
			continue
		}
		value, mark := c.Change.Before, c.Change.BeforeSensitive
		if action == Create {
			value, mark = c.Change.After, c.Change.AfterSensitive
		}
		list = append(list, Fate{Address: c.Address, Action: action, Identity: identity(value, func(v, m any) (string, bool) {
			text, ok := v.(string)
			return text, ok && m != true && text != "" && !r.hides(text)
		}, mark)})
	}
	return list, total
}

// Fates returns the fates in a redacted plan, without identities.
func (p *Plan) Fates() []Fate {
	var list []Fate
	for _, c := range p.Changes {
		if c.Mode == "managed" && c.Deposed == "" && makesOrDestroys(c.Action) {
			list = append(list, Fate{Address: c.Address, Action: c.Action})
		}
	}
	return list
}

// identifying are the attributes by which providers and people find objects.
var identifying = []string{
	"arn", "id", "name", "self_link", "bucket", "identifier", "hostname", "fqdn", "domain_name", "domain", "username", "email",
	"path", "filename", "metadata.0.namespace", "metadata.0.name", "tags.Name",
}

const (
	// maxNamed limits the attributes of an identity, maxIdentity the bytes of each.
	maxNamed    = 3
	maxIdentity = 200
)

// identity names an object by its attributes. text returns a value as text, and whether it may be
// shown.
func identity(value any, text func(value, mark any) (string, bool), mark any) string {
	var parts []string
	for _, name := range identifying {
		v, m := at(value, mark, strings.Split(name, "."))
		told, ok := text(v, m)
		if !ok {
			continue
		}
		if parts = append(parts, fmt.Sprintf("%s %q", name, shorten.CutBytes(told, maxIdentity))); len(parts) == maxNamed {
			break
		}
	}
	return strings.Join(parts, ", ")
}

// at follows a path into a value and its marks.
func at(value, mark any, path []string) (any, any) {
	for _, name := range path {
		switch v := value.(type) {
		case map[string]any:
			value, mark = v[name], attribute(mark, name)
		case []any:
			if name != "0" || len(v) == 0 {
				return nil, nil
			}
			if object, ok := mark.(map[string]any); ok { // marks that were made from paths
				value, mark = v[0], object["0"]
			} else {
				value, mark = v[0], part(mark, 0)
			}
		default:
			return nil, nil
		}
	}
	return value, mark
}

// IdentityOf names an object by its attributes in a state, without those that are sensitive by
// path.
func IdentityOf(attributes json.RawMessage, sensitive [][]string) string {
	var value any
	if json.Unmarshal(attributes, &value) != nil {
		return ""
	}
	var mark any
	for _, path := range sensitive {
		mark = marked(mark, path)
	}
	return identity(value, func(v, m any) (string, bool) {
		text, ok := v.(string)
		return text, ok && m != true && text != ""
	}, mark)
}

// marked adds a path to marks.
func marked(mark any, path []string) any {
	if len(path) == 0 || mark == true {
		return true
	}
	object, ok := mark.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	object[path[0]] = marked(object[path[0]], path[1:])
	return object
}
