variables {
  name = "test"
}

run "names_are_passed_on" {
  assert {
    condition     = output.name == "test"
    error_message = "The name is ${output.name}."
  }
}

run "names_with_capitals_are_refused" {
  command = plan

  variables {
    name = "Test"
  }

  expect_failures = [var.name]
}
