// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/kit/mask"
)

func TestSecrets(t *testing.T) {
	secret := func(value string) *Spec {
		return &Spec{Variables: map[string]Variable{"v": {Value: json.RawMessage(value), Secret: true}}}
	}
	env := func(value string) *Spec {
		return &Spec{Env: []EnvVar{{Name: "E", Value: value, Secret: true}}}
	}
	file := func(content string) *Spec {
		return &Spec{Files: []File{{Content: []byte(content), Secret: true}}}
	}
	cases := map[string]struct {
		spec     *Spec
		in, want string
	}{
		"a plain value in plain text":                   {secret(`"hunter2"`), "pw hunter2!", "pw (sensitive)!"},
		"a value of the environment":                    {env("hunter2"), "hunter2hunter2", "(sensitive)(sensitive)"},
		"a value with quotes in a JSON line":            {secret(`"a\"b<c>"`), `{"m":"x a\"b<c> y"}`, `{"m":"x (sensitive) y"}`},
		"a value with HTML escapes in a JSON line":      {secret(`"a<b&c"`), `{"m":"a\u003cb\u0026c"}`, `{"m":"(sensitive)"}`},
		"a value quoted twice":                          {secret(`"a\"b\\c"`), `{"m":"{\"k\":\"a\\\"b\\\\c\"}"}`, `{"m":"{\"k\":\"(sensitive)\"}"}`},
		"HCL escapes a template mark":                   {secret(`"pa${x}ss"`), `value = "pa$${x}ss"`, `value = "(sensitive)"`},
		"lines of a value, each for itself":             {env("-----BEGIN\nabcdef\n-----END"), "found abcdef there", "found (sensitive) there"},
		"short lines of a value stay":                   {env("abcdefgh\nxy"), "xy abcdefgh", "xy (sensitive)"},
		"strings inside of an object":                   {secret(`{"a":{"b":["deep-one"]}}`), "deep-one", "(sensitive)"},
		"strings inside of JSON in the environment":     {env(`{"token":"t0ken-x"}`), `t0ken-x`, "(sensitive)"},
		"a long number in text and in JSON":             {secret(`1234567`), `{"n":1234567,"s":"is 1234567","o":12345678}`, `{"n":"(sensitive)","o":12345678,"s":"is (sensitive)"}`},
		"a short number stays":                          {secret(`12345`), "12345", "12345"},
		"true is no secret":                             {secret(`"true"`), "true", "true"},
		"the marks of a line stay what they are":        {secret(`"info"`), `{"@level":"info","@message":"info","type":"info"}`, `{"@level":"info","@message":"(sensitive)","type":"info"}`},
		"the longer of two values goes first":           {&Spec{Env: []EnvVar{{Name: "A", Value: "abcd", Secret: true}, {Name: "B", Value: "abcdefg", Secret: true}}}, "abcdefg abcd", "(sensitive) (sensitive)"},
		"a value that is no secret stays":               {&Spec{Env: []EnvVar{{Name: "A", Value: "abcd"}}}, "abcd", "abcd"},
		"JSON without a secret stays byte for byte":     {secret(`"hunter2"`), `{"b": 1, "a":"\u003c"}`, `{"b": 1, "a":"\u003c"}`},
		"names of an object are masked below the top":   {secret(`"hunter2"`), `{"m":{"hunter2":1}}`, `{"m":{"(sensitive)":1}}`},
		"base64 of a value":                             {secret(`"hunter2-hunter2"`), `a aHVudGVyMi1odW50ZXIy b`, "a (sensitive) b"},
		"base64 with and without padding":               {env("hunter2-hunter"), "aHVudGVyMi1odW50ZXI= aHVudGVyMi1odW50ZXI", "(sensitive) (sensitive)"},
		"base64 for URLs":                               {env("\xff\xfe?>hunter2"), "__4_Pmh1bnRlcjI //4/Pmh1bnRlcjI=", "(sensitive) (sensitive)"},
		"base64 of a value and the newline at its end":  {env("hunter2-hunter2\n"), "aHVudGVyMi1odW50ZXIyCg==", "(sensitive)"},
		"base64 of a value of six characters":           {env("hunter"), "aHVudGVy hunter", "(sensitive) (sensitive)"},
		"base64 of a shorter value may be anything":     {env("x7Kq"), "eDdLcQ== x7Kq", "eDdLcQ== (sensitive)"},
		"a short value is hidden where it is a word":    {env("x7Kq"), "x7Kq, x7Kqa and ax7Kq", "(sensitive), x7Kqa and ax7Kq"},
		"a name of the stack where it is a value":       {&Spec{Stack: Stack{Namespace: "team-zebra", Name: "zebra"}, Env: []EnvVar{{Value: "zebra", Secret: true}}}, "team-zebra/zebra: user=zebra", "team-zebra/zebra: user=(sensitive)"},
		"what is given openly, too":                     {&Spec{Variables: map[string]Variable{"open": {Value: json.RawMessage(`"zebra.example"`)}}, Env: []EnvVar{{Value: "zebra.example", Secret: true}}}, "dial zebra.example: host=zebra.example", "dial zebra.example: host=(sensitive)"},
		"an output of another stack that is no secret":  {&Spec{Variables: map[string]Variable{"open": {Value: json.RawMessage(`"zebra.example"`), Open: true}}}, "dial zebra.example", "dial zebra.example"},
		"one that is secret as well is hidden anywhere": {&Spec{Variables: map[string]Variable{"open": {Value: json.RawMessage(`"zebra.example"`), Open: true}}, Env: []EnvVar{{Value: "zebra.example", Secret: true}, {Value: "zebra.example", Open: true}}}, "dial zebra.example:1", "dial (sensitive):1"},
		"the password in a URL":                         {env("postgres://app:p%40ss-w0rd@db/shop"), "user app, password p@ss-w0rd", "user app, password (sensitive)"},
		"long lines of a file, not short ones":          {file("kind: Conf\nclient-key-data: MIIabcdef\n"), "kind: Conf; client-key-data: MIIabcdef; MIIabcdef", "kind: Conf; (sensitive); (sensitive)"},
		"a certificate in a file stays, a key does not": {file("-----BEGIN CERTIFICATE-----\nMIIpublic-public\n-----END CERTIFICATE-----\n-----BEGIN KEY-----\nMIIsecret-secret\n-----END KEY-----\n"), "MIIpublic-public MIIsecret-secret", "MIIpublic-public (sensitive)"},
		"comments of a file are prose":                  {file("# the password required by key = someone\nshort: x\n"), "required someone", "required someone"},
		"a file of one line":                            {file("t0ken-x\n"), "is t0ken-x", "is (sensitive)"},
		"what a file names as secret":                   {file("machine x login me password hunter2-x\nother=plain-text\n"), "hunter2-x plain-text", "(sensitive) plain-text"},
		"strings of a JSON file":                        {file(`{"private_key":"one-secret","n":{"x":"two-secret"}}`), "one-secret two-secret", "(sensitive) (sensitive)"},
		"base64 of a file, in lines":                    {file("[default]\nshort = 1\nk = a-value-of-a-file-that-is-longer-than-one-line-of-base64-has-letters\n"), "W2RlZmF1bHRdCnNob3J0ID0gMQprID0gYS12YWx1ZS1vZi1hLWZpbGUtdGhhdC1pcy1sb25nZXIt\ndGhhbi1vbmUtbGluZS1vZi1iYXNlNjQtaGFzLWxldHRlcnMK\n\nW2RlZmF1bHRdCnNob3J0ID0gMQprID0gYS12YWx1ZS1vZi1hLWZpbGUtdGhhdC1p\ncy1sb25nZXItdGhhbi1vbmUtbGluZS1vZi1iYXNlNjQtaGFzLWxldHRlcnMK", "(sensitive)\n(sensitive)\n\n(sensitive)\n(sensitive)"},
		"base64 of a file of any bytes":                 {file("\x00\xff\x01binary"), "AP8BYmluYXJ5", "(sensitive)"},
		"a file that is no secret stays":                {&Spec{Files: []File{{Content: []byte("plain-text")}}}, "plain-text", "plain-text"},
		"tokens of the tool's configuration":            {&Spec{CLIConfig: []byte("credentials \"a.example\" {\n  token = \"t0ken-\\\"x\"\n}\nplugin_cache_dir = \"/cache-dir\"")}, `t0ken-"x of a.example in /cache-dir`, "(sensitive) of a.example in /cache-dir"},
		"tokens of it as JSON":                          {&Spec{CLIConfig: []byte(`{"credentials":{"a":{"token":"t0ken-y"}}}`)}, "t0ken-y", "(sensitive)"},
		"other texts that are secret":                   {&Spec{Secrets: []string{"state-pw", "x"}}, "state-pw x", "(sensitive) x"},
		"a value that is not valid UTF-8 cannot break":  {env("a\xffbcd"), "x a\xffbcd", "x (sensitive)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, string(c.spec.KnownSecrets().Masker(mask.Mark).Line([]byte(c.in)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
