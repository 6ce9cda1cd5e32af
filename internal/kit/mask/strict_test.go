// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import "testing"

// What is published must not contain a secret that a masker leaves readable.
func TestADetectorTakesNoCare(t *testing.T) {
	add := func(text string) func(*Secrets) { return func(s *Secrets) { s.Add(text) } }
	document := func(text string) func(*Secrets) { return func(s *Secrets) { s.AddJSON([]byte(text)) } }
	file := func(text string) func(*Secrets) { return func(s *Secrets) { s.AddFile([]byte(text)) } }
	for sentence, test := range map[string]struct {
		secret func(*Secrets)
		text   string
		want   bool
	}{
		"nothing is secret":                    {func(*Secrets) {}, "x", false},
		"another text":                         {add("hunter2"), "db.example.com", false},
		"a number of few digits":               {add("1234"), "pin-1234", true},
		"a common word in a word":              {add("postgres"), "mypostgres-1", true},
		"a combination of common words":        {add("tenant-root"), "https://tenant-root.example.com", true},
		"a name in a name":                     {add("shop.example"), "www.shop.example.com", true},
		"a short text in a longer word":        {add("x7Kq"), "abcx7Kqdef", true},
		"in another case":                      {add("x7Kq"), "X7KQ", true},
		"a boolean word":                       {add("enabled"), "is enabled", true},
		"three characters":                     {add("abc"), "xabcx", true},
		"three characters in base64":           {add("abc"), "YWJj", true},
		"three characters, twice in base64":    {add("abc"), "WVdKag==", true},
		"three characters in hex":              {add("abc"), "616263", true},
		"three characters, escaped":            {add("a/c"), "a%2Fc", true},
		"two characters, and equal":            {add("ab"), "ab", true},
		"two characters in a longer text":      {add("ab"), "abc", false},
		"two characters in a list":             {add("ab"), `["x","ab"]`, true},
		"two characters as a key":              {add("ab"), `{"ab":1}`, true},
		"a digit, and a number":                {document("7"), "7", true},
		"a digit in a number":                  {document("7"), "77", false},
		"a boolean, and equal":                 {document("true"), "true", true},
		"a boolean in a text":                  {document("true"), "it is true", false},
		"a boolean in an object":               {document(`{"a":false}`), `{"b":false}`, true},
		"punctuation":                          {add("!!!"), "a!!!b", true},
		"a short text in JSON":                 {document(`{"pin":"123"}`), "x123", true},
		"a short password in a URL":            {add("https://u:abc@h"), "abc", true},
		"a short line of a file":               {file("one\nhunter2\n"), "pw=hunter2", true},
		"a setting with an unsuspicious name":  {file("a:\n  pw: hunter2\n  b: 1\n"), "hunter2", true},
		"a quoted setting":                     {file("x = 1\npw = \"hunter2\"\n"), "hunter2", true},
		"a common setting of a file":           {file("kind: Config\npw: hunter2\n"), "app-config", false},
		"the first line of a key is no secret": {add("-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0C\n-----END PUBLIC KEY-----"), "-----BEGIN PUBLIC KEY-----", false},
		"a brace in a file":                    {file("a {\n}\n"), "}", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := Strict()
			test.secret(s)
			if got := s.Detector().Finds(test.text); got != test.want {
				t.Errorf("found: %v", got)
			}
		})
	}
}
