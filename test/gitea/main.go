// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Gitea is the whole program of code.gitea.io/gitea for the tests of pull requests, with a driver of SQLite that needs
// no C compiler. Its pages lack the scripts and styles that npm builds: tests use its API, git and webhooks.
// internal/testkit/giteatest starts it with the files that "make bin/gitea" puts beside it.
package main

import (
	"os"
	"time"

	"code.gitea.io/gitea/cmd"
	"code.gitea.io/gitea/modules/log"
	_ "code.gitea.io/gitea/modules/markup/markdown" // renders comments
	"code.gitea.io/gitea/modules/setting"
)

// version is what the API answers; clients refuse calls that they believe an older server lacks.
const version = "1.26.0"

func main() {
	setting.AppVer, setting.AppBuiltWith, setting.AppStartTime = version, "", time.Now().UTC()
	err := cmd.RunMainApp(cmd.NewMainApp(cmd.AppVersion{Version: version}), os.Args...)
	log.GetManager().Close() // otherwise its last lines are lost
	if err != nil {
		os.Exit(1)
	}
}
