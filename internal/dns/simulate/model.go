// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// model are PowerDNS' functions.
type model struct {
	*World
	*choices
}

// install makes them the only functions, beside those of Lua that cannot do harm.
func (m *model) install(state *lua.LState) {
	lua.OpenBase(state)
	kept := map[string]bool{"ipairs": true, "pairs": true, "tostring": true, "tonumber": true, "type": true}
	globals := state.G.Global
	var names []string
	globals.ForEach(func(name, _ lua.LValue) { names = append(names, name.String()) })
	for _, name := range names {
		if !kept[name] {
			globals.RawSetString(name, lua.LNil)
		}
	}
	text := state.NewTable()
	text.RawSetString("char", state.NewFunction(char))
	globals.RawSetString("string", text)
	for name, function := range map[string]func(*lua.LState) (lua.LValue, error){
		"ifurlup": m.ifURLUp, "ifportup": m.ifPortUp, "all": m.all, "pickclosest": m.pickClosest,
		"pickrandom": m.pickAny, "pickhashed": m.pickAny, "pickwrandom": m.pickWeighted, "pickwhashed": m.pickWeighted} {
		globals.RawSetString(name, state.NewFunction(func(s *lua.LState) int {
			value, err := function(s)
			if err != nil {
				s.RaiseError("%s: %s", name, err)
			}
			s.Push(value)
			return 1
		}))
	}
}

// char is string.char. The rest of the library is left out: string.rep allocates what it is told.
func char(s *lua.LState) int {
	text := make([]byte, s.GetTop())
	for i := range text {
		n := s.CheckInt(i + 1)
		if n < 0 || n > 255 {
			s.ArgError(i+1, "a byte is between 0 and 255")
		}
		text[i] = byte(n)
	}
	s.Push(lua.LString(text))
	return 1
}

func (m *model) ifURLUp(s *lua.LState) (lua.LValue, error) {
	if s.CheckString(1) == "" {
		return nil, errors.New("the URL is empty")
	}
	groups, err := groupsOf(s.CheckTable(2))
	if err != nil {
		return nil, err
	}
	return m.ifUp(s, groups, map[string]bool{"stringmatch": true, "useragent": true, "byteslimit": true, "httpcode": true})
}

func (m *model) ifPortUp(s *lua.LState) (lua.LValue, error) {
	if port := s.CheckInt(1); port < 1 || port > 1<<16-1 {
		return nil, fmt.Errorf("%d is not a port", port)
	}
	list, err := addressesOf(s.CheckTable(2))
	if err != nil {
		return nil, fmt.Errorf("%w (PowerDNS before 4.8 knows no groups here)", err)
	}
	return m.ifUp(s, [][]netip.Addr{list}, nil)
}

// ifUp answers with the first group that has an address that is up.
func (m *model) ifUp(s *lua.LState, groups [][]netip.Addr, options map[string]bool) (lua.LValue, error) {
	selector, backup := "random", "random"
	if table := s.OptTable(3, nil); table != nil {
		var err error
		table.ForEach(func(key, value lua.LValue) {
			switch name := key.String(); {
			case name == "selector":
				selector = value.String()
			case name == "backupSelector":
				backup = value.String()
			case options[name] || slices.Contains([]string{"source", "timeout", "interval", "minimumFailures", "failOnIncompleteCheck"}, name):
			default:
				err = fmt.Errorf("PowerDNS does not have the option %q, and would ignore it", name)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for _, group := range groups {
		up := slices.DeleteFunc(slices.Clone(group), func(a netip.Addr) bool { return m.Down[a] })
		if len(up) > 0 {
			return m.selected(s, selector, up)
		}
	}
	return m.selected(s, backup, slices.Concat(groups...))
}

func (m *model) selected(s *lua.LState, selector string, list []netip.Addr) (lua.LValue, error) {
	switch selector {
	case "all":
	case "random", "hashed":
		list = []netip.Addr{list[m.pick(ones(len(list)))]}
	case "pickclosest":
		list = []netip.Addr{m.closest(list)}
	default:
		return nil, fmt.Errorf("PowerDNS does not have the selector %q, and would answer randomly", selector)
	}
	table := s.NewTable()
	for _, a := range list {
		table.Append(lua.LString(a.String()))
	}
	return table, nil
}

func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// closest compares degrees, as PowerDNS does. Places that the database does not know are at 0, 0.
func (m *model) closest(list []netip.Addr) netip.Addr {
	locate := m.Locate
	if locate == nil {
		locate = func(netip.Addr) (float64, float64) { return 0, 0 }
	}
	lat, lon := locate(m.From)
	var nearest []netip.Addr
	least := 0.0
	for _, a := range list {
		y, x := locate(a)
		x = lon - x
		if x > 180 {
			x = 360 - x
		}
		distance := (lat-y)*(lat-y) + x*x
		if len(nearest) == 0 || distance < least {
			nearest, least = nil, distance
		}
		if distance == least {
			nearest = append(nearest, a)
		}
	}
	return nearest[m.pick(ones(len(nearest)))]
}

func (m *model) pickClosest(s *lua.LState) (lua.LValue, error) {
	list, err := addressesOf(s.CheckTable(1))
	if err != nil {
		return nil, err
	}
	return lua.LString(m.closest(list).String()), nil
}

func (m *model) all(s *lua.LState) (lua.LValue, error) {
	if _, err := stringsOf(s.CheckTable(1)); err != nil {
		return nil, err
	}
	return s.CheckTable(1), nil
}

func (m *model) pickAny(s *lua.LState) (lua.LValue, error) {
	list, err := stringsOf(s.CheckTable(1))
	if err != nil {
		return nil, err
	}
	return lua.LString(list[m.pick(ones(len(list)))]), nil
}

func (m *model) pickWeighted(s *lua.LState) (lua.LValue, error) {
	table := s.CheckTable(1)
	var weights []int
	var values []lua.LString
	sum := 0
	for i := 1; i <= table.Len(); i++ {
		pair, ok := table.RawGetInt(i).(*lua.LTable)
		if !ok {
			return nil, errors.New("want pairs of a weight and a text")
		}
		weight, number := pair.RawGetInt(1).(lua.LNumber)
		value, text := pair.RawGetInt(2).(lua.LString)
		if !number || !text || weight < 0 || weight > 1<<20 {
			return nil, errors.New("want pairs of a weight and a text")
		}
		weights, values, sum = append(weights, int(weight)), append(values, value), sum+int(weight)
	}
	if sum == 0 {
		return nil, errors.New("the weights are 0")
	}
	return values[m.pick(weights)], nil
}

// stringsOf reads a table of texts, which is not empty.
func stringsOf(value lua.LValue) (list []string, err error) {
	table, ok := value.(*lua.LTable)
	if !ok || table.Len() == 0 {
		return nil, errors.New("want a list of texts that is not empty")
	}
	for i := 1; i <= table.Len(); i++ {
		text, ok := table.RawGetInt(i).(lua.LString)
		if !ok {
			return nil, errors.New("want a list of texts")
		}
		list = append(list, string(text))
	}
	return list, nil
}

func addressesOf(value lua.LValue) (list []netip.Addr, err error) {
	texts, err := stringsOf(value)
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not an address", text)
		}
		if len(list) > 0 && list[0].Is4() != address.Is4() {
			return nil, errors.New("IPv4 and IPv6 addresses are mixed")
		}
		list = append(list, address)
	}
	return list, nil
}

// groupsOf reads a list of addresses, or a list of such lists.
func groupsOf(table *lua.LTable) (groups [][]netip.Addr, err error) {
	if _, grouped := table.RawGetInt(1).(*lua.LTable); !grouped {
		list, err := addressesOf(table)
		return [][]netip.Addr{list}, err
	}
	for i := 1; i <= table.Len(); i++ {
		list, err := addressesOf(table.RawGetInt(i))
		if err != nil {
			return nil, err
		}
		groups = append(groups, list)
	}
	return groups, nil
}
