// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"net/netip"
	"slices"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/luatext"
)

// Record is one record of type LUA.
type Record struct {
	// Answers is the type of its answers: A or AAAA.
	Answers string
	Code    luatext.Code
}

// Content is the record as PowerDNS has it.
func (r Record) Content() string { return r.Code.Content(r.Answers) }

// Render returns the records of a name: one for each family of addresses that its endpoints have.
func Render(s Spec) []Record {
	var all []Record
	if s.Placement == yubav1.PlacementWeighted {
		s.Endpoints = slices.DeleteFunc(slices.Clone(s.Endpoints), func(e Endpoint) bool { return e.Weight == 0 })
	}
	for _, is4 := range []bool{true, false} {
		if len(flat(s.Endpoints, is4)) == 0 {
			continue
		}
		answers := "AAAA"
		if is4 {
			answers = "A"
		}
		all = append(all, Record{answers, s.code(is4)})
	}
	return all
}

// Warnings says what the records do that users may not expect.
func Warnings(s Spec) []string {
	var all []string
	for _, e := range s.Endpoints {
		for _, is4 := range []bool{true, false} {
			if len(flat(s.Endpoints, is4)) > 0 && len(of(e.Addresses, is4)) == 0 {
				all = append(all, fmt.Sprintf("endpoint %s has no %s address: it is not in the answers for clients that use %[2]s", e.Name, family(is4)))
			}
		}
	}
	return all
}

func family(is4 bool) string {
	if is4 {
		return "IPv4"
	}
	return "IPv6"
}

// word shortens the writing of code.
func word(constant string) luatext.Code { return luatext.Word(constant) }

func texts(addresses []netip.Addr) luatext.Code {
	list := make([]string, len(addresses))
	for i, a := range addresses {
		list[i] = a.String()
	}
	return luatext.Texts(list)
}

// code is the record of one family.
func (s *Spec) code(is4 bool) luatext.Code {
	all := texts(flat(s.Endpoints, is4))
	switch {
	case s.Placement == yubav1.PlacementWeighted:
		return s.weighted(is4)
	case s.Check == nil && s.Placement == yubav1.PlacementGeo:
		return call("pickclosest(", all)
	case s.Check == nil:
		return call(pick[s.Selector], all)
	case s.Placement == yubav1.PlacementGeo:
		return s.ifUp(all, "pickclosest", whenAllDown(s.WhenAllDown, "pickclosest"))
	case s.Placement == yubav1.PlacementActivePassive && s.Check.URL == "":
		return s.priorities(is4)
	case s.Placement == yubav1.PlacementActivePassive:
		return s.ifUp(s.groups(is4), selectors[s.Selector], selectors[s.WhenAllDown])
	default:
		return s.ifUp(all, selectors[s.Selector], selectors[s.WhenAllDown])
	}
}

// selectors are PowerDNS' names.
var selectors = map[yubav1.FailoverSelector]string{yubav1.SelectAll: "all", yubav1.SelectRandom: "random", yubav1.SelectHashed: "hashed"}

// pick are the functions that choose from a list.
var pick = map[yubav1.FailoverSelector]string{yubav1.SelectAll: "all(", yubav1.SelectRandom: "pickrandom(", yubav1.SelectHashed: "pickhashed("}

func whenAllDown(s yubav1.FailoverSelector, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return selectors[s]
}

func call(function string, argument luatext.Code) luatext.Code {
	return luatext.Join(word(function), argument, word(")"))
}

// groups are the addresses by priority: {{'primary'},{'standby'}}.
func (s *Spec) groups(is4 bool) luatext.Code {
	var groups []luatext.Code
	for _, priority := range s.priorityNumbers() {
		if addresses := flat(s.withPriority(priority), is4); len(addresses) > 0 {
			groups = append(groups, texts(addresses))
		}
	}
	return luatext.List(groups...)
}

// priorityNumbers are the priorities, the primary one first.
func (s *Spec) priorityNumbers() (numbers []int) {
	for _, e := range s.Endpoints {
		numbers = append(numbers, e.Priority)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func (s *Spec) withPriority(priority int) (found []Endpoint) {
	for _, e := range s.Endpoints {
		if e.Priority == priority {
			found = append(found, e)
		}
	}
	return found
}

// ifUp is a call that answers with those of the addresses that are up.
func (s *Spec) ifUp(addresses luatext.Code, selector, backup string) luatext.Code {
	function := luatext.Join(word("ifportup("), luatext.Number(s.Check.Port))
	if s.Check.URL != "" {
		function = luatext.Join(word("ifurlup("), luatext.Text(s.Check.URL))
	}
	return luatext.Join(function, word(","), addresses, word(",{"), s.options(selector, backup), word("})"))
}

func (s *Spec) options(selector, backup string) luatext.Code {
	options := luatext.Join(word("selector="), luatext.Text(selector), word(",backupSelector="), luatext.Text(backup))
	add := func(name string, value luatext.Code) { options = luatext.Join(options, word(","+name+"="), value) }
	c := s.Check
	for _, o := range []struct {
		name  string
		value int
	}{{"timeout", c.Timeout}, {"interval", c.Interval}, {"minimumFailures", c.MinimumFailures}} {
		if o.value > 0 {
			add(o.name, luatext.Number(o.value))
		}
	}
	if c.Contains != "" {
		add("stringmatch", luatext.Text(c.Contains))
	}
	if c.UserAgent != "" {
		add("useragent", luatext.Text(c.UserAgent))
	}
	return options
}

// up is code that makes the table up of the addresses that are up; of all, if none is.
func (s *Spec) up(addresses luatext.Code) luatext.Code {
	return luatext.Join(word(";local up={} "), word("for _,a in ipairs("), s.ifUp(addresses, "all", "all"), word(")do "), word("up[a]=true "), word("end "))
}

// priorities answers with the first group that is up. ifportup of PowerDNS 4.7 knows no groups.
func (s *Spec) priorities(is4 bool) luatext.Code {
	result := word("r ")
	if s.Selector != yubav1.SelectAll {
		result = call(pick[s.Selector], word("r"))
	}
	return luatext.Join(s.up(texts(flat(s.Endpoints, is4))),
		word("for _,g in ipairs("), s.groups(is4), word(")do "), word("local r={} "),
		word("for _,a in ipairs(g)do "), word("if up[a]then "), word("r[#r+1]=a "), word("end "), word("end "),
		word("if #r>0 then "), word("return "), result, word(" end "), word("end"))
}

// weighted answers by weight, of those that are up. pickwhashed itself checks nothing.
func (s *Spec) weighted(is4 bool) luatext.Code {
	var pairs []luatext.Code
	for _, e := range s.Endpoints {
		for _, a := range of(e.Addresses, is4) {
			pairs = append(pairs, luatext.List(luatext.Number(e.Weight), luatext.Text(a.String())))
		}
	}
	function := "pickwhashed("
	if s.Selector == yubav1.SelectRandom {
		function = "pickwrandom("
	}
	if s.Check == nil {
		return call(function, luatext.List(pairs...))
	}
	return luatext.Join(s.up(texts(flat(s.Endpoints, is4))), word("local w={} "),
		word("for _,p in ipairs("), luatext.List(pairs...), word(")do "), word("if up[p[2]]then "), word("w[#w+1]=p "), word("end "), word("end "),
		word("return "), call(function, word("w")))
}
