# PowerShell completion of hermes-exec: hermes-exec completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName hermes-exec -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    & $commandAst.CommandElements[0].ToString() complete -- @words "$wordToComplete" 2>$null | ForEach-Object {
        $name, $help = $_ -split "`t", 2
        if (-not $name) { return '' }  # no file either: PowerShell offers some unless there is something, and '' is no word
        [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $(if ($help) { $help } else { $name }))
    }
}
