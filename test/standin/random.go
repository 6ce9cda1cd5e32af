// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"math/big"
	"strconv"
	"strings"
)

// random is hashicorp/random. Its values are only in the state.
var random = table{
	source: "hashicorp/random",
	kinds: map[string]kind{
		"random_password": {attributes: map[string]attribute{
			"id":               told("none"),
			"length":           required(whole).fixed(),
			"lower":            optional(flag).or("true").fixed(),
			"upper":            optional(flag).or("true").fixed(),
			"numeric":          optional(flag).or("true").fixed(),
			"special":          optional(flag).or("true").fixed(),
			"override_special": optional(text).fixed(),
			"result":           {computed: true, sensitive: true, made: password},
		}},
		"random_id": {attributes: map[string]attribute{
			"id":          told("{hex}"),
			"byte_length": required(whole).fixed(),
			"hex":         {computed: true, made: hexDigits},
		}},
	},
}

// specials are the default special characters of the real provider.
const specials = "!@#$%&*()-_=+[]{}<>:?"

// password generates a password from the allowed characters; "false" excludes a class of them.
func password(given texts) string {
	characters := ""
	add := func(allowed, more string) {
		if given[allowed] != "false" {
			characters += more
		}
	}
	add("lower", "abcdefghijklmnopqrstuvwxyz")
	add("upper", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	add("numeric", "0123456789")
	if given["override_special"] != "" {
		add("special", given["override_special"])
	} else {
		add("special", specials)
	}
	return pick(characters, given["length"], 1)
}

func hexDigits(given texts) string { return pick("0123456789abcdef", given["byte_length"], 2) }

func pick(characters, length string, times int) string {
	n, err := strconv.Atoi(length)
	if err != nil || characters == "" {
		return ""
	}
	var out strings.Builder
	for range n * times {
		i, err := rand.Int(rand.Reader, big.NewInt(int64(len(characters))))
		if err != nil {
			panic(err) // no chance on this machine
		}
		out.WriteByte(characters[i.Int64()])
	}
	return out.String()
}
