// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"strings"
)

// modulePath returns the path of a module's call without keys, "network.subnets", from its address,
// such as module.network["a.b]"].module.subnets[0]. Keys may contain any character.
func modulePath(address string) (string, error) {
	var path []string
	rest := address
	for rest != "" {
		name, found := strings.CutPrefix(rest, "module.")
		if !found {
			return "", fmt.Errorf("the module's address %q cannot be parsed", address)
		}
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		if end == 0 {
			return "", fmt.Errorf("the module's address %q cannot be parsed", address)
		}
		path, rest = append(path, name[:end]), name[end:]
		if strings.HasPrefix(rest, "[") {
			end := keyEnd(rest)
			if end < 0 {
				return "", fmt.Errorf("the module's address %q cannot be parsed", address)
			}
			rest = rest[end:]
		}
		if rest != "" {
			if rest[0] != '.' {
				return "", fmt.Errorf("the module's address %q cannot be parsed", address)
			}
			rest = rest[1:]
		}
	}
	return strings.Join(path, "."), nil
}

// KeyEnd returns the end of the key that an address begins with; -1 if it does not begin with one.
func KeyEnd(address string) int {
	if !strings.HasPrefix(address, "[") {
		return -1
	}
	return keyEnd(address)
}

// keyEnd returns the end of a key in brackets, [0] or ["text"]; -1 if there is none.
func keyEnd(text string) int {
	if !strings.HasPrefix(text, `["`) {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return -1
		}
		return end + 1
	}
	for i := 2; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			if strings.HasPrefix(text[i+1:], "]") {
				return i + 2
			}
			return -1
		}
	}
	return -1
}
