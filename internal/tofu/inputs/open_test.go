// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written is a world with outputs as Yuba writes them: host and ports are not sensitive, password
// is.
func written() *objects {
	w := world()
	w.secrets["out"] = map[string]string{"host": "db.example.com", "password": "hunter2!", "ports": "[1,2]", "ports__type": `["list","number"]`, "url": "x://u:hunter2!@h"}
	data := map[string][]byte{}
	for key, value := range w.secrets["out"] {
		data[key] = []byte(value)
	}
	w.open = map[string]string{"out": OpenOutputs{Open: []string{"ports", "host"}, Closed: []string{"url"}}.Annotation(data)}
	return w
}

func TestOutputsThatAreNotSensitiveAreOpen(t *testing.T) {
	const all = `{varsFrom: [{kind: Secret, name: out}], env: [{name: HOST, valueFrom: {secretKeyRef: {name: out, key: host}}}], envFrom: [{prefix: P_, secretRef: {name: out}}],
		vars: [{name: one, valueFrom: {secretKeyRef: {name: out, key: host}}}], backendConfigsFrom: [{kind: Secret, name: out, keys: [host, password]}]}`
	for sentence, test := range map[string]struct {
		change func(*objects)
		open   string
	}{
		"as they were written":                             {func(*objects) {}, " open"},
		"somebody put another value there":                 {func(o *objects) { o.secrets["out"]["host"] = "s3cr3t-host" }, ""},
		"a value that is not open changed":                 {func(o *objects) { o.secrets["out"]["password"] = "hunter3!" }, " open"},
		"an annotation that somebody made up":              {func(o *objects) { o.open["out"] = `{"open":["host","ports","password"],"digest":"sha256:0"}` }, ""},
		"an annotation that is not one":                    {func(o *objects) { o.open["out"] = `[1]` }, ""},
		"none, as of a Secret that somebody else has made": {func(o *objects) { o.open = nil }, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := written()
			test.change(w)
			in, err := Resolve(t.Context(), w, "team-a", spec(t, all))
			if err != nil {
				t.Fatal(err)
			}
			host, password := w.secrets["out"]["host"], w.secrets["out"]["password"]
			star := map[string]string{"": "*"}[test.open]
			want := map[string]string{
				"var host": `"` + host + `"*` + test.open, "var one": `"` + host + `"*` + test.open, "var password": `"` + password + `"*`,
				"var ports": `"[1,2]"*` + test.open, "var ports__type": `"[\"list\",\"number\"]"*` + test.open, "var url": `"x://u:hunter2!@h"*`,
				"env HOST": host + "*" + test.open, "env P_host": host + "*" + test.open, "env P_password": password + "*", "env P_ports": "[1,2]*" + test.open,
				"env P_ports__type": `["list","number"]*` + test.open, "env P_url": "x://u:hunter2!@h*",
				"setting host": host + star, "setting password": password + "*",
			}
			if diff := cmp.Diff(want, flat(in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a template makes of outputs that are not sensitive is shown, also when the Secret has
// sensitive ones beside them.
func TestTemplatesWithOpenOutputsAreOpen(t *testing.T) {
	for values, test := range map[string]struct{ text, want string }{
		`{url: "https://${{ .o.host }}/"}`: {"dial https://db.example.com/ or db.example.com", ""},
		`{ports: "${{ .o.ports }}", name: "x-${{ .o.host | upper }}", pw: "${{ .o.password }}"}`: {
			"x-DB.EXAMPLE.COM with hunter2! and HUNTER2!", "x-DB.EXAMPLE.COM with § and §"},
		`{both: "${{ .o.host }} as ${{ .o.password }}", host: "${{ .o.host }}"}`: {
			"db.example.com as hunter2! at db.example.com", "§ at db.example.com"},
		`{hash: "${{ .o.password | sha256sum | trunc 12 }}", host: "${{ .o.host }}"}`: {
			"cb1ade2b05e7 db.example.com", "§ db.example.com"},
		`{host: "${{ .o.host }}", part: "${{ .o.password | trunc 6 }}"}`: {"db.example.com hunter hunter9", "db.example.com § hunter9"},
		`{host: "${{ .o.host }}", url: "${{ .o.url }}", "k-${{ .o.password }}": 1}`: {
			"db.example.com x://u:hunter2!@h k-hunter2!", "db.example.com § §"},
		`{host: "h-${{ .o.host }}", long: "${{ if gt (len .o.password) 20 }}long${{ else }}short one${{ end }}"}`: {
			"h-db.example.com short one", "h-db.example.com §"},
		`{host: "h-${{ .o.host }}", size: "${{ len .o.password }} characters long"}`: {"h-db.example.com 8 characters long", "h-db.example.com §"},
		// Templates that take other passwords for an error tell nothing about what depends on them.
		`{host: "h-${{ .o.host }}", odd: "${{ if ne .o.password \"hunter2!\" }}${{ fail \"other\" }}${{ end }}"}`: {"h-db.example.com", "§"},
	} {
		in, err := Resolve(t.Context(), written(), "team-a", spec(t, `{readInputsFromSecrets: [{name: out, as: o}], values: `+values+`}`))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(test.want, "§", Mask)
		if test.want == "" {
			want = test.text
		}
		if got := in.Hide(test.text); got != want {
			t.Errorf("%s\nshows %s\nwant  %s", values, got, want)
		}
	}
}
